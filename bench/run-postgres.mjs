import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { importSource } from './postgres/own-source.mjs'

const program = fileURLToPath(new URL('postgres/run.mjs', import.meta.url))

/**
 * Runs the benchmark of the Postgres adapter in a process of its own; resolves to whether it is content. It always starts a
 * server of its own, because what a commit costs depends on settings that others may have changed. Where there is none to
 * start it is skipped, which is said aloud and, as with the tests, is no success where REQUIRE_SERVERS names it.
 */
export async function runPostgresBenchmark(options) {
  const { isRequired } = await importSource('test/servers/found-server.ts')
  const { POSTGRES, embeddedBinaries, installedBinaries } = await importSource('test/servers/postgres.ts')
  if ((installedBinaries() ?? embeddedBinaries()) === null) {
    console.error(`Skipped: the benchmark of the Postgres adapter. There is none: ${POSTGRES.howToGet}.`)
    return !isRequired(POSTGRES.name)
  }
  const child = spawn(process.execPath, [program, ...options], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  return code === 0
}
