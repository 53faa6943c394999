"""Workers of torch's DataLoader call headwise, after their parent did."""

import pytest

import headwise

torch = pytest.importorskip("torch")


class Attended(torch.utils.data.Dataset):
    """Attention over random tokens, computed where it is asked for."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        tokens = torch.randn(1, 50, 4, 16, generator=random)
        return headwise.attention(tokens, tokens, tokens, mask=headwise.causal())[0]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forked_workers():
    expected = torch.stack([Attended()[index] for index in range(6)])
    loader = torch.utils.data.DataLoader(
        Attended(),
        batch_size=2,
        num_workers=2,
        multiprocessing_context="fork",
        timeout=60,
    )
    assert torch.equal(torch.cat(list(loader)), expected)
