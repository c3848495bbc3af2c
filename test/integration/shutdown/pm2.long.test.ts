import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { findEnvironment } from '../../package/environments.js'
import { describePostgres } from '../postgres/schemas.js'
import { bundleWorker } from '../races/bundled-worker.js'
import { busyService, ENDED, placeOfService } from './running-service.js'

const { path, skipped } = await findEnvironment('pm2')

interface Pm2Process {
  readonly pm2_env: { readonly status: string; readonly exit_code: number }
}

describePostgres('a service under PM2', (url) => {
  it.skipIf(path === null)(`ends what is in progress before it stops${skipped}`, async () => {
    const home = mkdtempSync(join(tmpdir(), 'svc-db-pm2-'))
    const program = await bundleWorker(fileURLToPath(new URL('./service.ts', import.meta.url)))
    const place = await placeOfService(url)
    const env = {
      ...process.env,
      ...{ NODE_OPTIONS: '', NODE_V8_COVERAGE: '', PM2_HOME: home },
      ...place.environment,
    }
    const pm2 = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(join(path!, 'node_modules', '.bin', 'pm2'), args, { env })
      return stdout
    }
    try {
      await pm2('start', program.file, '--name', 'service', '--kill-timeout', '60000')
      const letEnd = await busyService(place)
      const stopped = pm2('stop', 'service')
      await place.noted('stopping')
      await letEnd()
      await stopped
      expect(place.lines()).toEqual(expect.arrayContaining(ENDED))
      const [service] = JSON.parse(await pm2('jlist')) as Pm2Process[]
      expect(service!.pm2_env).toMatchObject({ status: 'stopped', exit_code: 0 })
    } finally {
      await pm2('kill')
      await place.remove()
      program.remove()
      rmSync(home, { recursive: true, force: true })
    }
  })
})
