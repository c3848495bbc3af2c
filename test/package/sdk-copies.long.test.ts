import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { environments, findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { runProgram } from './programs.js'

const { path, skipped } = await findEnvironment('sdk-copies')
const copies = Object.keys(environments['sdk-copies'].dependencies)

describe.skipIf(path === null)(`an S3Client from another copy of the AWS SDK${skipped}`, () => {
  const application = join(temporaryFolder(), 'sdk-copies')
  const versionsIn = (text: string) => text.match(/\b3\.\d+\.\d+ in /g)
  beforeAll(async () => {
    await createApplication(application, 'sdk-copies')
    linkPackages(application, ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'])
    linkPackages(application, copies, path!)
  })
  const create = async (copy: string) =>
    (await runProgram(application, process.execPath, 'create.mjs', copy)).output.trim()

  it.concurrent.each(copies)('%s is refused, and the error names both versions', async (copy) => {
    const output = await create(copy)
    const folder = (name: string) => realpathSync(join(application, 'node_modules', name))
    expect(output).toMatch(/^TypeError: s3Storage: client must come from the copy of @aws-sdk\/client-s3/)
    expect(output).toContain(`got one of 3.${copy.slice(-3)}.0 in ${folder(copy)};`)
    expect(output).toContain(` in ${folder('@aws-sdk/client-s3')})`)
    expect(versionsIn(output)).toHaveLength(2)
    expect(output).toContain('Install one version: see docs/s3.md.')
  })

  it.concurrent('the own copy is accepted', async () => {
    expect(await create('@aws-sdk/client-s3')).toBe('created')
  })
})
