/** Returns a function that queues tasks, run in order and a few at a time. A task never starts within the call that queues it. */
export function createQueue(concurrency: number): (task: () => Promise<void>) => void {
  const waiting: (() => Promise<void>)[] = []
  let running = 0

  async function work(): Promise<void> {
    running += 1
    for (let task = waiting.shift(); task; task = waiting.shift()) await task()
    running -= 1
  }

  return (task) => {
    waiting.push(task)
    queueMicrotask(() => {
      if (running < concurrency) void work()
    })
  }
}
