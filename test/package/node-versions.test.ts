import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entries } from '../../build/entries.js'
import { findNode, supportedMajors } from './node-version.js'
import { isLongRun } from '../long-runs.js'
import {
  installInto,
  linkPackages,
  packPackage,
  repository,
  runProgram,
  runProgramWith,
} from './packed-package.js'

const { engines, peerDependencies } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
) as Record<'engines' | 'peerDependencies', Record<string, string>>
const specifiers = Object.keys(entries).map((name) => (name === 'index' ? '@svc/db' : `@svc/db/${name}`))
/** What a version between two others lacks, one of them lacks too. */
const limits = [Math.min(...supportedMajors), Math.max(...supportedMajors)]
const workspace = mkdtempSync(join(tmpdir(), 'svc-db-node-'))
const application = join(workspace, 'application')
const versions = await Promise.all(
  supportedMajors.map(async (major) => ({ major, node: await findNode(major, workspace) })),
)

beforeAll(async () => {
  await installInto(application, await packPackage(workspace))
  linkPackages(application, Object.keys(peerDependencies))
})

afterAll(() => rmSync(workspace, { recursive: true, force: true }))

it('requires the oldest tested version of Node or later in engines', () => {
  expect(engines['node']).toBe(`>=${supportedMajors[0]}`)
})

for (const { major, node } of versions) {
  const skipped = typeof node === 'string' ? '' : ` (skipped: ${node.reason})`
  describe.skipIf(typeof node !== 'string')(`on Node ${major}${skipped}`, () => {
    const deprecations = join(workspace, `deprecations-${major}`)
    const recording = {
      NODE_OPTIONS: `--require=${join(application, 'record-deprecations.cjs')}`,
      DEPRECATIONS_FILE: deprecations,
    }
    const run = (...args: string[]) => runProgramWith(recording, application, node as string, ...args)

    it('exports the same names from every entry as ESM and as CommonJS', async () => {
      const { exitCode, output } = await run('load-entries.mjs', ...specifiers)
      expect(exitCode, output).toBe(0)
      const loaded = JSON.parse(output) as Record<string, Record<'esm' | 'cjs', { names?: string[] }>>
      for (const specifier of specifiers) {
        expect(loaded[specifier]!.esm.names, specifier).not.toBeUndefined()
        expect(loaded[specifier]!.cjs, specifier).toEqual(loaded[specifier]!.esm)
      }
    })

    it('recognizes a StorageError across entries and across ESM and CommonJS', async () => {
      expect(await run('one-error-class.mjs')).toEqual({ exitCode: 0, output: 'one class\n' })
    })

    it('passes the conformance suite under node:test', async () => {
      const { output } = await run('--test', '--test-reporter=tap', 'conformance.test.mjs')
      expect(output).toMatch(/^# fail 0$/m)
      expect(Number(/^# pass (\d+)$/m.exec(output)?.[1])).toBeGreaterThan(0)
    })

    // The version that runs this file runs the unit tests as a project of their own.
    const runsUnitTests = isLongRun && node !== process.execPath && limits.includes(major)
    it.runIf(runsUnitTests)('passes the unit tests', async () => {
      const vitest = join('node_modules', 'vitest', 'vitest.mjs')
      const report = join(workspace, `unit-tests-${major}.json`)
      const args = [vitest, 'run', '--project=unit', '--reporter=json', `--outputFile=${report}`]
      const { exitCode, output } = await runProgramWith(recording, repository, node as string, ...args)
      const totals = await runProgram(repository, process.execPath, join('.ci', 'test-totals.mjs'), report)
      expect(exitCode, totals.output + output).toBe(0)
    })

    it('uses nothing that this version deprecates', () => {
      expect(existsSync(deprecations) ? readFileSync(deprecations, 'utf8') : '').toBe('')
    })
  })
}
