// What is known of each queue, kept up to date by one stream. EventSource cannot send a token, so it is read by fetch.

import { stream } from "./api.js";

export const queues = new Map(); // name -> the newest word of it
const listeners = new Set();
let state = "begins"; // or live, lost
let ending = null;

export function listen(heard) {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

export function connection() {
  return state;
}

export function note(queue) {
  queues.set(queue.name, { ...queues.get(queue.name), ...queue });
  for (const heard of [...listeners]) heard(queue.name);
}

export function end() {
  ending?.abort();
  ending = null;
}

export async function begin(refused) {
  end();
  const mine = new AbortController();
  ending = mine;
  let pause = 500;
  while (!mine.signal.aborted) {
    try {
      const answer = await stream("v1/dashboard/events", mine.signal);
      become("live");
      pause = 500;
      await read(answer.body);
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error.status === 401) return refused(error);
    }
    become("lost");
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(pause * 2, 15000);
  }
}

function become(now) {
  if (state === now) return;
  state = now;
  for (const heard of [...listeners]) heard(null);
}

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const line = event.split("\n").find((one) => one.startsWith("data: "));
      if (line) note(JSON.parse(line.slice(6)));
    }
  }
}
