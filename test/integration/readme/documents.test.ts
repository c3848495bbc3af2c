import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES, StorageError } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { anchorsOf, linkTarget, quotedExample, readDocuments, repository } from './documents.js'

const documents = readDocuments()
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  version: string
  scripts: Record<string, string>
}
const withoutIndent = (code: string) => code.replace(/^ +/gm, '')
/** Returns the file that a block names in its first line. That of NestJS takes arguments in the tests. */
const nameOf = (code: string) => {
  const [, name = ''] = /^\/\/ (\S+)/.exec(code) ?? []
  return name === 'main.js' ? 'nest.mjs' : name
}
const document = (path: string) => documents.find((candidate) => candidate.path === path)!

describe.each(documents)('$path', (from) => {
  it('has no broken links', () => {
    const broken = from.links.filter((link) => {
      const target = linkTarget(from, link)
      if (target === null) return false
      if (!existsSync(join(repository, target.path))) return true
      return target.anchor !== null && !anchorsOf(document(target.path)).includes(target.anchor)
    })
    expect(broken).toEqual([])
  })

  // Files that are not in the tarball are named instead of linked: a link to them would be dead there.
  it('names only repository files that exist', () => {
    const named = [...from.text.matchAll(/`((?:bench|examples|src|test)\/[\w./-]+\.m?[jt]s)`/g)]
    expect(named.map(([, path]) => path!).filter((path) => !existsSync(join(repository, path)))).toEqual([])
  })

  it('quotes examples as they are', () => {
    const quoted = from.blocks.map(quotedExample).filter((quote) => quote !== null)
    const differs = ({ path, lines }: (typeof quoted)[number]) =>
      !withoutIndent(readFileSync(join(repository, path), 'utf8')).includes(withoutIndent(lines))
    expect(quoted.filter(differs)).toEqual([])
  })

  it('names only npm scripts that exist', () => {
    const scripts = [/\bnpm run ([\w:-]+)/g, /\bnpm (start|test)\b/g].flatMap((pattern) =>
      [...from.text.matchAll(pattern)].map(([, script]) => script!),
    )
    expect(scripts.filter((script) => !(script in manifest.scripts))).toEqual([])
  })

  it('has code blocks only in known languages', () => {
    // `ts` and `js` are compiled and run, and so is `sql`; long tests run `cjs`, `jsx` and `mjs`. The others show commands and output.
    const known = ['ts', 'js', 'cjs', 'jsx', 'mjs', 'sh', 'sql', 'text', 'json']
    const unknown = from.blocks.filter(({ language }) => !known.includes(language))
    expect(unknown.map(({ language, line }) => `line ${line}: "${language}"`)).toEqual([])
  })
})

it.each([
  ['docs/nextjs.md', 'next/app/api/s3/[...path]/route.js'],
  ['docs/nestjs.md', 'nest.mjs'],
  ['docs/sveltekit.md', 'sveltekit/src/routes/api/s3/[...path]/+server.js'],
  ['docs/react-router.md', 'react-router/app/routes.js'],
  ['docs/react-router.md', 'react-router/app/s3.js'],
])('shows in %s what the tests of frameworks run: %s', (path, file) => {
  const tested = readFileSync(join(repository, 'test/package/applications/servers', file), 'utf8')
  // Where the library is, and how an application starts, differs.
  const own = /^(\/\/|import |const app|await app\.listen|$)/
  const shown = document(path)
    .blocks.filter(({ language, code }) => language === 'mjs' && file.endsWith(nameOf(code)))
    .flatMap(({ code }) => code.split('\n').filter((line) => !own.test(line)))
  expect(shown.length).toBeGreaterThan(0)
  expect(shown.filter((line) => !tested.includes(line))).toEqual([])
})

it('has an upload page of at most 60 lines of code', () => {
  const [block] = document('docs/upload-page.md').blocks.filter(({ language }) => language === 'jsx')
  expect(block!.code.match(/^ *[^/\s].*/gm)!.length).toBeLessThanOrEqual(60)
})

it('keeps the README at 150 lines or fewer', () => {
  expect(document('README.md').text.split('\n').length).toBeLessThanOrEqual(150)
})

it('starts the changelog with the package version', () => {
  const heading = /^## (?:\[)?(\d+\.\d+\.\d+[^\s\]]*)/m.exec(document('CHANGELOG.md').text)
  expect(heading?.[1]).toBe(manifest.version)
})

it('links every page from the README', () => {
  const readme = document('README.md')
  const linked = readme.links.map((link) => linkTarget(readme, link)?.path)
  const pages = documents.map(({ path }) => path).filter((path) => path !== 'README.md')
  expect(pages.filter((path) => !linked.includes(path))).toEqual([])
})

it('documents exactly the existing error codes, with their statuses', () => {
  const rows = document('docs/errors.md').text.matchAll(/^\| `([A-Z_]+)`\s*\| (\d{3})/gm)
  const documented = Object.fromEntries([...rows].map(([, code, status]) => [code!, Number(status)]))
  const actual = Object.fromEntries(ERROR_CODES.map((code) => [code, Number(new StorageError(code).status)]))
  expect(documented).toEqual(actual)
})

it('documents every call of the store, and no other', () => {
  const store = document('docs/concepts.md')
    .text.split('\n## ')
    .find((section) => section.startsWith('The store\n'))
  const rows = store!.matchAll(/^\| `(\w+)(?:\([^`]*\))?`\s+\|/gm)
  const calls = new Set([...rows].map(([, call]) => call!))
  expect([...calls].sort()).toEqual(Object.keys(memoryAdapter()).sort())
})
