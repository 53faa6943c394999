"""torch's tensors as arguments of headwise.attention."""

import numpy as np
import pytest

import headwise

torch = pytest.importorskip("torch")
from torch._subclasses.fake_tensor import FakeTensorMode


@pytest.fixture
def query():
    return torch.randn(2, 3, 2, 4, generator=torch.Generator().manual_seed(43))


def attend(tensor, **options):
    return headwise.attention(tensor, tensor, tensor, **options)


def test_results_are_tensors(query):
    result = attend(query, lse=True, statistics={"rows": True, "top_keys": 1})
    expected = attend(query.numpy(), lse=True)
    for name in ("output", "lse"):
        tensor = getattr(result, name)
        assert isinstance(tensor, torch.Tensor)
        np.testing.assert_array_equal(tensor.numpy(), getattr(expected, name))
    assert result.statistics.top_keys.dtype == torch.int64


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits(query, dtype):
    narrow = query.to(dtype)
    output = attend(narrow)
    assert output.dtype == dtype
    assert torch.equal(output, attend(narrow.float()).to(dtype))


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.transpose(1, 2),
        lambda t: t[:, ::2],
        lambda t: t[:1, :1].expand(2, 3, 2, 4),
        lambda t: t[:0],
        lambda t: t[:, :0],
    ],
)
def test_strides(query, view):
    seen = view(query)
    assert torch.equal(attend(seen), attend(seen.contiguous()))


def test_out(query):
    out = torch.empty_like(query)
    assert attend(query, out=out) is out
    assert torch.equal(out, attend(query))


def test_masks_and_options_may_be_tensors(query):
    mask = torch.tensor([[True, False, True]] * 3)
    output = attend(query, mask=mask & torch.ones(3, 3, dtype=torch.bool))
    np.testing.assert_array_equal(
        output.numpy(), attend(query.numpy(), mask=mask.numpy())
    )
    lengths = torch.tensor([1, 3])
    np.testing.assert_array_equal(
        attend(query, mask=headwise.causal() & headwise.key_lengths(lengths)).numpy(),
        attend(
            query.numpy(),
            mask=headwise.causal() & headwise.key_lengths(lengths.numpy()),
        ),
    )


def test_a_gradient_that_would_be_lost(query):
    query.requires_grad_()
    with pytest.raises(TypeError, match=r"query requires a gradient.*headwise\.torch"):
        attend(query)
    with pytest.raises(TypeError, match="sinks requires a gradient"):
        attend(query.detach(), sinks=torch.zeros(2, requires_grad=True))
    with torch.no_grad():
        assert not attend(query).requires_grad
    parameter = torch.nn.Parameter(query.detach())
    with pytest.raises(TypeError, match="requires a gradient"):
        attend(parameter)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda t: t.double(), TypeError, "query is float64, expected float32, bfloat16"),
        (lambda t: t.to("meta"), TypeError, "on the device meta, expected one on the CPU"),
        (lambda t: t.to_sparse(), TypeError, "no plain memory"),
        (lambda t: t[0, :, 0].to_sparse_csr(), TypeError, "no plain memory"),
        (lambda t: t.to(torch.complex64), TypeError, "element type torch.complex64"),
        (lambda t: t[0, 0], ValueError, r"shape \(2, 4\), expected"),
        (lambda t: misaligned(), ValueError, "not aligned"),
    ],
)
def test_wrong_tensors(query, make, error, message):
    with pytest.raises(error, match=message):
        headwise.attention(make(query), query, query)


def of_fake_mode(*shape, **options):
    with FakeTensorMode():
        return torch.ones(*shape, **options)


def freed(*shape, **options):
    tensor = torch.ones(*shape, **options)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.filterwarnings("ignore:Accessing the data pointer")
@pytest.mark.parametrize("make", [of_fake_mode, freed])
def test_tensors_without_memory(query, make):
    with pytest.raises(ValueError, match="key has no memory"):
        headwise.attention(query, make(2, 3, 2, 4), query)
    with pytest.raises(ValueError, match="array has no memory"):
        headwise.dense(make(2, 3, dtype=torch.bool), ("H", "Lq"))
    with pytest.raises(ValueError, match="lengths has no memory"):
        headwise.key_lengths(make(2, dtype=torch.int64))


@pytest.mark.filterwarnings("ignore:Accessing the data pointer")
def test_results_are_on_the_cpu(query):
    expected = attend(query)
    with torch.device("meta"):
        assert torch.equal(attend(query), expected)
    with FakeTensorMode(), pytest.raises(NotImplementedError, match="FakeTensorMode"):
        attend(query)


@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16, torch.float16])
def test_tensors_of_versions_without_an_exchange(query, narrow):
    """A type derived from Tensor is read by its attributes, too."""

    class Derived(torch.Tensor):
        pass

    query = query.to(narrow)[:, ::2].transpose(1, 2)
    output = attend(query.as_subclass(Derived))
    assert torch.equal(output, attend(query))


def misaligned():
    memory = np.zeros(4 * 48 + 1, np.uint8)[1:].view(np.float32)
    return torch.from_numpy(memory.reshape(2, 3, 2, 4))
