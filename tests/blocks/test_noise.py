"""Word deletion: how much goes, what always stays, and that nothing else changes."""

import pytest
import torch

from coterie.blocks.noise import delete_entries, delete_words, survivors

PAD = 0
# [CLS] a(2 tokens) b c [SEP]; [CLS] d [SEP]; a text of special tokens alone
IDS = torch.tensor([[101, 5, 6, 7, 8, 102], [101, 9, 102, 0, 0, 0], [101, 102, 0, 0, 0, 0]])
MASK = (IDS != PAD).long()
WORDS = torch.tensor(
    [[-1, 0, 0, 1, 2, -1], [-1, 0, -1, -1, -1, -1], [-1, -1, -1, -1, -1, -1]]
)  # fmt: skip


def read(ids: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    return [row[: int(m.sum())].tolist() for row, m in zip(ids, mask, strict=True)]


def test_whole_words_go_and_special_tokens_stay() -> None:
    torch.manual_seed(0)
    seen = set()
    for _ in range(300):
        ids, mask = delete_words(IDS, MASK, WORDS, 0.6, PAD)
        assert ids.shape == mask.shape == IDS.shape
        assert (ids[mask == 0] == PAD).all()
        assert (mask.diff(dim=1) <= 0).all()  # what is left lies on the left
        first, second, third = read(ids, mask)
        seen.add(tuple(first[1:-1]))
        assert first[0] == 101 and first[-1] == 102
        assert second == [101, 9, 102] and third == [101, 102]
    words = [(5, 6), (7,), (8,)]
    some = {
        sum((w for i, w in enumerate(words) if bits >> i & 1), ()) for bits in range(1, 8)
    }  # every choice of at least one word, in the order of the text
    assert seen == some


def test_nothing_goes_at_zero_and_one_word_stays_at_one() -> None:
    torch.manual_seed(0)
    ids, mask = delete_words(IDS, MASK, WORDS, 0.0, PAD)
    assert torch.equal(ids, IDS) and torch.equal(mask, MASK)
    ids, mask = delete_words(IDS, MASK, WORDS, 1.0, PAD)
    assert read(ids, mask)[0] in ([101, 5, 6, 102], [101, 7, 102], [101, 8, 102])


@pytest.mark.parametrize("ratio", [0.3, 0.6])
def test_the_share_that_goes_is_the_ratio(ratio: float) -> None:
    torch.manual_seed(0)
    present = torch.ones(2000, 30, dtype=torch.bool)
    assert survivors(present, ratio).float().mean().item() == pytest.approx(1 - ratio, abs=0.01)


def test_the_one_that_stays_is_any_of_them() -> None:
    torch.manual_seed(0)
    present = torch.tensor([[True, False, True, True]]).expand(3000, 4)
    stays = survivors(present, 1.0)
    assert (stays.sum(dim=1) == 1).all()
    share = stays.float().mean(dim=0)
    torch.testing.assert_close(share, torch.tensor([1, 0, 1, 1]) / 3, atol=0.04, rtol=0)


def test_bags_lose_entries_but_never_all() -> None:
    torch.manual_seed(0)
    rows = torch.rand(500, 20) * (torch.rand(500, 20) < 0.3)
    rows[0] = 0
    noisy = delete_entries(rows, 0.6)
    assert ((noisy == rows) | (noisy == 0)).all()
    filled = (rows != 0).any(dim=1)
    assert ((noisy != 0).any(dim=1) == filled).all() and not filled[0]
    # The one entry that is saved in short rows moves the share a little under the ratio.
    gone = 1 - (noisy != 0).sum() / (rows != 0).sum()
    assert 0.55 < gone.item() < 0.61


def test_the_same_seed_deletes_the_same_words() -> None:
    torch.manual_seed(3)
    first = delete_words(IDS, MASK, WORDS, 0.6, PAD)
    torch.manual_seed(3)
    again = delete_words(IDS, MASK, WORDS, 0.6, PAD)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
