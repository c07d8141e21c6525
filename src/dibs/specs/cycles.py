"""Circles in a graph, by Tarjan's algorithm without recursion: linear in nodes and edges, at any depth."""

from collections import deque
from collections.abc import Sequence


def cycles(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """One circle for each group of nodes that reach each other: its nodes in order, the smallest first."""
    return sorted(_circle(group, edges) for group in _groups(edges))


def _groups(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Every strongly connected component that holds a circle."""
    count = len(edges)
    number = [0] * count  # order of discovery from 1; 0 is unseen
    low = [0] * count
    on_stack = bytearray(count)
    stack: list[int] = []
    found: list[list[int]] = []
    clock = 0
    for root in range(count):
        if number[root]:
            continue
        clock += 1
        number[root] = low[root] = clock
        stack.append(root)
        on_stack[root] = 1
        path = [(root, iter(edges[root]))]
        while path:
            node, following = path[-1]
            for target in following:
                if not number[target]:
                    clock += 1
                    number[target] = low[target] = clock
                    stack.append(target)
                    on_stack[target] = 1
                    path.append((target, iter(edges[target])))
                    break
                if on_stack[target] and number[target] < low[node]:
                    low[node] = number[target]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == number[node]:
                    group = _popped(stack, on_stack, node)
                    if len(group) > 1 or node in edges[node]:
                        found.append(group)
    return found


def _popped(stack: list[int], on_stack: bytearray, node: int) -> list[int]:
    group: list[int] = []
    while not group or group[-1] != node:
        group.append(stack.pop())
        on_stack[group[-1]] = 0
    return group


def _circle(group: list[int], edges: Sequence[Sequence[int]]) -> list[int]:
    """The shortest way from the group's smallest node back to itself."""
    inside = set(group)
    start = min(group)
    came_from: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in edges[node]:
            if target == start:
                way = [node]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if target in inside and target not in came_from:
                came_from[target] = node
                waiting.append(target)
    raise AssertionError("a group without a circle")
