"""Functions as tasks.

python examples/functions.py                                        # pushes some calls
PYTHONPATH=examples dibs work queues/words --call functions:tasks --until-empty -j 2
"""

import dibs

tasks = dibs.Functions("queues/words")


@tasks.function(max_attempts=5)
def count(text: str) -> dict[str, int]:
    words = text.lower().split()
    return {word: words.count(word) for word in sorted(set(words))}


@tasks.function(priority="high")
def shout(text: str, times: int = 1) -> str:
    return " ".join([text.upper()] * times)


if __name__ == "__main__":
    print(count("calling a function calls it"))
    print(count.push("push it and a worker calls it later").id)
    print(shout.options(key="hello").push("hello", times=2).id)
