import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'svc-db-release-'))
afterAll(() => rmSync(folder, { recursive: true }))

const CHANGELOG = `# Changelog

## 2.1.0

- Something that has no date.

## 2.0.0 - 2026-12-01

### Added

- A call: see [Upgrading](UPGRADING.md#from-155-to-20) and [semver](https://semver.org).

## 1.5.5 - 2026-11-22

_First release._
`

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a script of `.ci`, with the repository's name in the environment as a workflow has it. */
function run(script: string, args: readonly string[], repository = ''): Promise<Run> {
  const file = fileURLToPath(new URL(`../../../.ci/${script}`, import.meta.url))
  const env = { ...process.env, NODE_OPTIONS: '', GITHUB_REPOSITORY: repository, GITHUB_SERVER_URL: '' }
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

describe('release-notes.mjs', () => {
  const changelog = join(folder, 'CHANGELOG.md')
  writeFileSync(changelog, CHANGELOG)

  it('prints the section of a version, with links to its files on the web', async () => {
    const { code, stdout } = await run('release-notes.mjs', ['2.0.0', changelog], 'example/files')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^### Added\n\n- A call: see \[Upgrading\]\(https:\S+\/blob\/v2\.0\.0\/UPGRADING\.md#from-155-to-20\) and \[semver\]\(https:\/\/semver\.org\)\.\n$/,
    )
  })

  it.each([
    ['3.0.0', 'CHANGELOG.md has no section "## 3.0.0 - DATE".'],
    ['2.1.0', 'CHANGELOG.md has no section "## 2.1.0 - DATE".'],
  ])('fails for %s', async (version, message) => {
    expect(await run('release-notes.mjs', [version, changelog])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${message}\n`,
    })
  })
})

describe('release-check.mjs', () => {
  it('names each reason not to release a tag', async () => {
    const { code, stderr } = await run('release-check.mjs', ['v0.0.1'])
    expect(code).toBe(1)
    expect(stderr).toContain('as in package.json (got v0.0.1).')
  })
})
