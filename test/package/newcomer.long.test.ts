import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { blocksOf } from '../integration/readme/documents.js'
import { findServer } from '../servers/found-server.js'
import { POSTGRES } from '../servers/postgres.js'
import { findEnvironment } from './environments.js'
import { linkPackages, packPackage, temporaryFolder } from './packed-package.js'
import { runProgram, startServerOnPort } from './programs.js'

const { path, skipped } = await findEnvironment('newcomer')
const postgres = await findServer(POSTGRES)
const noServer = 'reason' in postgres ? ` (${postgres.reason})` : ''
const copied = { recursive: true, verbatimSymlinks: true } as const
const parent = temporaryFolder()
afterAll(() => ('url' in postgres ? postgres.stop() : undefined))

/** Writes the snippets of a document to the files that they name. */
function writeSnippets(folder: string, document: string): void {
  for (const code of blocksOf(document, 'ts')) {
    const [, name = ''] = /^\/\/ (\S+)\n/.exec(code) ?? []
    // For applications that have these packages.
    if (!name.startsWith('existing-')) writeFileSync(join(folder, name), code)
  }
}

/** Lists the objects of a user who is signed in as either document wants it. */
async function listOf(url: string) {
  const headers = { 'x-user': 'ann', authorization: 'Bearer secret-of-ann' }
  const response = await fetch(`${url}/api/s3/db/objects`, { headers })
  return [response.status, await response.json()] as const
}

describe.skipIf(path === null)(`an empty folder with the snippets${skipped}`, () => {
  describe.each(['README.md', 'docs/getting-started.md'])('of %s', (document) => {
    const folder = join(parent, document.replace(/\W/g, '-'))
    const run = async (command: string, ...args: string[]) => {
      const result = await runProgram(folder, command, ...args)
      expect(result.exitCode, result.output).toBe(0)
    }
    const tool = (name: string) => join(path ?? '', 'node_modules', '.bin', name)

    beforeAll(async () => {
      mkdirSync(folder)
      const { file } = await packPackage(folder)
      const setup = blocksOf('docs/getting-started.md', 'sh')[1]!.trim().split('\n').slice(1)
      for (const line of setup) {
        const [command = '', name = '', ...args] = line.split(' ')
        // The other packages are those of the environment, because the newest ones may change.
        if (name === 'install' && args.includes('-D')) continue
        if (name === 'install') await run('npm', 'install', '--offline', '--no-audit', '--no-fund', file)
        else if (command === 'npx') await run(tool(name), ...args)
        else await run(command, name, ...args)
      }
      // Copies, because TypeScript can't name types of links in declarations.
      cpSync(join(path!, 'node_modules'), join(folder, 'node_modules'), copied)
      // The repository's own, because npm would compile it again.
      linkPackages(folder, ['better-sqlite3', '@types/better-sqlite3'])
      writeSnippets(folder, document)
    })

    it('compiles', () => run(tool('tsc'), '--noEmit'))

    it('compiles with TypeScript 5.0', async () => {
      const older = join(folder, 'node_modules', 'typescript5', 'bin', 'tsc')
      const [, ...init] = blocksOf('docs/getting-started.md', 'sh')[1]!.trim().split('\n').at(-1)!.split(' ')
      // `tsc --init` refuses to replace a file.
      const current = join(folder, 'tsconfig-7.json')
      renameSync(join(folder, 'tsconfig.json'), current)
      await run(process.execPath, older, ...init.slice(1))
      await run(process.execPath, older, '--noEmit')
      renameSync(current, join(folder, 'tsconfig.json'))
    })

    it.skipIf(noServer !== '')(`serves${noServer}`, async () => {
      if (!('url' in postgres)) return
      const variables = { DATABASE_URL: postgres.url }
      const server = await startServerOnPort(folder, () => variables, tool('tsx'), 'server.ts')
      onTestFinished(server.stop)
      expect(await listOf(server.url)).toEqual([200, { objects: [] }])
    })
  })

  it('serves with SQLite in place of Postgres', async () => {
    const folder = join(parent, 'docs-getting-started-md')
    renameSync(join(folder, 'sqlite-s3.ts'), join(folder, 's3.ts'))
    const tsx = join(path!, 'node_modules', '.bin', 'tsx')
    const server = await startServerOnPort(folder, () => ({}), tsx, 'server.ts')
    onTestFinished(server.stop)
    expect(await listOf(server.url)).toEqual([200, { objects: [] }])
  })

  it('runs the tests', async () => {
    const folder = join(parent, 'docs-getting-started-md')
    const { exitCode, output } = await runProgram(
      folder,
      join(path!, 'node_modules', '.bin', 'tsx'),
      '--test',
      'app.test.ts',
    )
    expect(exitCode, output).toBe(0)
    expect(output).toMatch(/pass 2/)
  })
})
