import { createS3Client } from '@svc/db/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { environments, findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { runProgram, startServer } from './programs.js'

const { path, skipped } = await findEnvironment('front-ends')
const api = temporaryFolder()
const page = temporaryFolder()

describe.skipIf(path === null)(`front ends for development${skipped}`, () => {
  let url: string
  beforeAll(async () => {
    await createApplication(api, 'runners')
    linkPackages(api, ['express'])
    await createApplication(page, 'front-ends')
    linkPackages(page, ['vite'])
    linkPackages(page, Object.keys(environments['front-ends'].dependencies), path!)
    const server = await startServer(api, process.execPath, 'serve.mjs')
    url = server.url
    return server.stop
  })

  it.each(['vite', 'http-proxy-middleware', 'webpack-dev-server', 'next'])(
    'the proxy of %s passes uploads and downloads of the client without a setting',
    async (name) => {
      const front = await startServer(page, process.execPath, 'serve.mjs', name, url)
      try {
        const { output } = await runProgram(page, process.execPath, 'upload.mjs', front.url)
        expect(output).toBe('5 bytes from the front end\n16777217 bytes from the front end\n')
      } finally {
        front.stop()
      }
    },
  )

  it('server components of Next.js 14 list the files of the moment', async () => {
    const front = await startServer(page, process.execPath, 'serve.mjs', 'next', url)
    try {
      const count = async () => Number(/files: (\d+)/.exec(await (await fetch(front.url)).text())?.[1])
      const before = await count()
      await createS3Client({ baseURL: url, plugins: [] }).api.upload(new File(['x'], 'new.txt'))
      expect(await count()).toBe(before + 1)
    } finally {
      front.stop()
    }
  })
})
