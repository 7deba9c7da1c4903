"""The deep head and its assigner."""

import numpy as np
import torch

from coterie.blocks.assign import make_assigner
from coterie.blocks.head import DeepHead, HeadAssigner


def test_the_rule_says_what_the_head_says_without_dropout() -> None:
    torch.manual_seed(0)
    head = DeepHead(6, 4).train()
    x = torch.randn(9, 6)
    log_p = head.steady(x)
    assert head.training and not torch.equal(head(x), log_p)  # dropout is on again
    assigner = HeadAssigner.make(head)
    logits = torch.from_numpy(assigner.logits(x.numpy()))
    torch.testing.assert_close(logits.log_softmax(dim=1).float(), log_p)
    loop = x
    for i, part in enumerate(p for p in head.layers if isinstance(p, torch.nn.Linear)):
        loop = part(loop) if i == 2 else part(loop).clamp(min=0)
    torch.testing.assert_close(logits.float(), loop)


def test_reordered_and_restored() -> None:
    torch.manual_seed(0)
    assigner = HeadAssigner.make(DeepHead(5, 3))
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(assigner.reordered(order).logits(x), assigner.logits(x)[:, order])
    numbers = {"kind": assigner.kind, **assigner.numbers()}
    again = make_assigner(assigner.arrays(), numbers, {HeadAssigner.kind: HeadAssigner})
    np.testing.assert_array_equal(again.logits(x), assigner.logits(x))
