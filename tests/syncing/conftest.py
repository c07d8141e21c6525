from objects.conftest import bucket as bucket  # the fixtures of tests that have a bucket
from objects.conftest import prefix as prefix
from objects.conftest import proxy as proxy
from objects.conftest import url as url
