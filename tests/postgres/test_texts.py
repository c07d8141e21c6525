"""Texts in the database: one to one, whatever they contain."""

from itertools import product

from dibs.queues.postgres import texts


def test_every_text_has_its_own_form_and_comes_back() -> None:
    every = ["".join(letters) for length in range(6) for letters in product("\\\0 0a", repeat=length)]
    forms = {texts.put(text) for text in every}
    assert len(forms) == len(every)
    assert not any("\0" in form for form in forms)
    assert [texts.taken_out(texts.put(text)) for text in every] == every
