import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Starts a process that replies to one message at a time. It exits with this one. */
export function startChild(file, args = [], execArgv = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv })
  const ended = once(child, 'exit')
  async function reply() {
    const died = ended.then(([code]) => Promise.reject(new Error(`${file} exited with code ${code}.`)))
    const [message] = await Promise.race([once(child, 'message'), died])
    return message
  }
  return {
    reply,
    request(message) {
      child.send(message)
      return reply()
    },
    async stop() {
      child.disconnect()
      await ended
    },
  }
}

/** Starts a server process and signs in. Returns its origin and the session cookie. */
export async function startServer(framework, connection, execArgv = ['--expose-gc']) {
  const child = startChild('server-process.mjs', [framework, JSON.stringify(connection)], execArgv)
  const { port } = await child.reply()
  const origin = `http://127.0.0.1:${port}`
  const signedIn = await fetch(`${origin}/sign-in`)
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return { ...child, origin, cookie }
}
