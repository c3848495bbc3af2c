import { beforeAll, describe, expect, it } from 'vitest'
import { findEnvironment } from './environments.js'
import { createApplication, linkPackages, temporaryFolder } from './packed-package.js'
import { repository, runProgram } from './programs.js'

const { path, skipped } = await findEnvironment('servers')
const application = temporaryFolder()

describe.skipIf(path === null)(`servers of the environment${skipped}`, () => {
  beforeAll(async () => {
    await createApplication(application, 'servers')
    const packages = [
      '@nestjs/common',
      '@nestjs/core',
      '@nestjs/platform-express',
      '@nestjs/platform-fastify',
    ]
    linkPackages(application, [...packages, 'polka', 'reflect-metadata'], path!)
    linkPackages(application, ['vite'], repository)
  })

  it.concurrent.each([
    ...[
      'nest.mjs express use',
      'nest.mjs express module',
      'nest.mjs express prefixed',
      'nest.mjs fastify use',
    ],
    ...['nest.mjs fastify register', 'polka.mjs', 'vite.mjs'],
  ])('%s serves an upload', async (program) => {
    const args = program.split(' ')
    expect(await runProgram(application, process.execPath, ...args)).toEqual({
      exitCode: 0,
      output: 'served\n',
    })
  })

  it.concurrent('a module of NestJS on Fastify is directed to fastifyBinding', async () => {
    const { output } = await runProgram(application, process.execPath, 'nest.mjs', 'fastify', 'module')
    expect(output).toMatch(/TypeError: expressBinding .*fastifyBinding/)
  })
})
