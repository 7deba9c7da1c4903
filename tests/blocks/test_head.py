"""The deep head and its rule."""

import numpy as np
import torch

from coterie.blocks.assign import make_rule
from coterie.blocks.head import DeepHead, HeadRule


def test_the_rule_says_what_the_head_says_without_dropout() -> None:
    torch.manual_seed(0)
    head = DeepHead(6, 4).train()
    x = torch.randn(9, 6)
    log_p = head.steady(x)
    assert head.training and not torch.equal(head(x), log_p)  # dropout is on again
    rule = HeadRule.make(head)
    logits = torch.from_numpy(rule.logits(x.numpy()))
    torch.testing.assert_close(logits.log_softmax(dim=1).float(), log_p)
    loop = x
    for i, part in enumerate(p for p in head.layers if isinstance(p, torch.nn.Linear)):
        loop = part(loop) if i == 2 else part(loop).clamp(min=0)
    torch.testing.assert_close(logits.float(), loop)


def test_reordered_and_restored() -> None:
    torch.manual_seed(0)
    rule = HeadRule.make(DeepHead(5, 3))
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(rule.reordered(order).logits(x), rule.logits(x)[:, order])
    numbers = {"kind": rule.kind, **rule.numbers()}
    again = make_rule(rule.arrays(), numbers, {HeadRule.kind: HeadRule})
    np.testing.assert_array_equal(again.logits(x), rule.logits(x))
