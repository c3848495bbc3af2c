import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Runs a benchmark in a process of its own; resolves to whether it is content, and to the rows that it has sent. */
export async function runApart(program, options) {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const rows = []
  const child = spawn(process.execPath, [file, ...options], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  child.on('message', (message) => rows.push(...message.rows))
  const [code] = await once(child, 'close')
  return { isContent: code === 0, rows }
}
