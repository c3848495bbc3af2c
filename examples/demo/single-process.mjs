import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps other processes of the demo from a folder until this one ends; throws where one is there already. It listens on a
 * local socket named after the folder, which the system closes with the process, however that ends.
 */
export async function keepForThisProcess(folder) {
  const name = `svc-db-demo-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const socket = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`)
  if (!(await listensOn(socket))) {
    if (await answersOn(socket)) throw new Error(`another process uses ${folder}: end it, or set DATA_DIR.`)
    // The file of a process that was killed.
    rmSync(socket, { force: true })
    if (!(await listensOn(socket))) throw new Error(`another process has just taken ${folder}.`)
  }
  process.once('exit', () => rmSync(socket, { force: true }))
}

function listensOn(socket) {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy())
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
    server.listen(socket, () => resolve(true))
    // It doesn't keep the process.
    server.unref()
  })
}

function answersOn(socket) {
  return new Promise((resolve) => {
    const connection = connect(socket, () => resolve(true))
    connection.once('error', () => resolve(false))
    connection.once('connect', () => connection.destroy())
  })
}
