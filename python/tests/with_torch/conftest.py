import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread_of_torch():
    """The tensors of these tests are small: torch's threads would only wait for
    each other."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
