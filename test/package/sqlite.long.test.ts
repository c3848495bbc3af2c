import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeSavedForms } from '../integration/sqlite/describe-saved-forms.js'
import { findNode } from './environments.js'
import { temporaryFolder } from './packed-package.js'
import { repository, runProgramWith } from './programs.js'

// Node 20 has no node:sqlite and runs no TypeScript.
for (const major of [22, 24] as const) {
  const { path, skipped } = await findNode(major)

  describe.skipIf(path === null)(`sqliteAdapter over node:sqlite of Node ${major}${skipped}`, () => {
    it('passes the conformance suite, waits, joins and reports what fails', async () => {
      // Most of the time on a disk is the wait for it, for databases of one test each.
      const inMemory = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}
      const args = ['--test', '--test-reporter=tap', 'test/package/sqlite/suite.ts']
      const { output } = await runProgramWith(inMemory, repository, path!, ...args)
      const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(output)?.[1])
      expect({ failed: count('fail'), skipped: count('skipped') }, output).toEqual({ failed: 0, skipped: 0 })
      expect(count('pass')).toBeGreaterThanOrEqual(400)
    })

    const folder = temporaryFolder()
    it('is what svc-db opens a file with', async () => {
      const run = (...args: string[]) =>
        runProgramWith(
          {},
          folder,
          path!,
          join(repository, 'dist/cli.js'),
          '--url',
          'sqlite:./data.db',
          ...args,
        )
      expect((await run('verify')).output).toContain('There is no database file')
      expect(await run('migrate', '--json')).toEqual({ exitCode: 0, output: '{"from":0,"to":1}\n' })
      expect(await run('verify')).toEqual({ exitCode: 0, output: '' })
    })

    describe('forms that are saved in a transaction', () => {
      const program = join(repository, 'test/package/sqlite/saved-form.ts')
      describeSavedForms((saved) => [path!, program, JSON.stringify(saved)])
    })
  })
}
