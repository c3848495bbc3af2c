import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FIRST = 3000
const LAST = 3099

/**
 * Listens on the given port. If it is `null`, listens on the port of the previous run if that is free, otherwise on the
 * first free one from 3000.
 */
export async function listen(server, { host, port, folder }) {
  if (port !== null)
    return listenOn(server, host, port).catch((error) => Promise.reject(refusal(port, error)))
  const candidates = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index)
  const remembered = rememberedPort(folder)
  if (remembered) candidates.unshift(remembered)
  for (const candidate of candidates) {
    try {
      return await listenOn(server, host, candidate)
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error
    }
  }
  throw new Error(`All ports from ${FIRST} to ${LAST} are in use. Set PORT to a free port.`)
}

/** Makes the next run prefer this port, which keeps the URL of the page. */
export function rememberPort(folder, port) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'port'), `${port}\n`)
}

function rememberedPort(folder) {
  try {
    const port = Number(readFileSync(join(folder, 'port'), 'utf8'))
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null
  } catch {
    return null
  }
}

function listenOn(server, host, port) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function refusal(port, error) {
  const reason = error.code === 'EADDRINUSE' ? 'is already in use' : `can't be used (${error.code})`
  return new Error(
    `Port ${port} (from PORT) ${reason}. Set PORT to a free port, or unset it to let the demo choose one.`,
    { cause: error },
  )
}
