import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Locks a folder against other processes of the demo until this one ends; throws if another process holds the lock. The
 * lock is a local socket named after the folder, which the system closes with the process, even if that is killed.
 */
export async function keepForThisProcess(folder) {
  const name = `svc-db-demo-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const socket = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`)
  if (!(await listensOn(socket))) {
    const taken = `Another process uses ${folder}. Stop it, or set DATA_DIR to another folder.`
    if (await canConnectTo(socket)) throw new Error(taken)
    // A process that was killed left the file behind.
    rmSync(socket, { force: true })
    if (!(await listensOn(socket))) throw new Error(taken)
  }
  process.once('exit', () => rmSync(socket, { force: true }))
}

function listensOn(socket) {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy())
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
    server.listen(socket, () => resolve(true))
    server.unref()
  })
}

function canConnectTo(socket) {
  return new Promise((resolve) => {
    const connection = connect(socket, () => resolve(true))
    connection.once('error', () => resolve(false))
    connection.once('connect', () => connection.destroy())
  })
}
