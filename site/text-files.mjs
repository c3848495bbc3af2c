// The site for programs: llms.txt, which lists the pages with what each is for, and their Markdown sources, at the paths that they
// have in the repository, so links between them work.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Files that pages link to. */
const LINKED = ['docs/schema.sql']

/**
 * @param {string} folder
 * @param {string} base
 * @param {import('./navigation.mjs').Group[]} groups
 */
export function writeTextFiles(folder, base, groups) {
  const { name, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const sections = groups.map(({ title, pages }) =>
    [
      `## ${title}`,
      '',
      ...pages.map((page) => `- [${page.title}](${base}${page.path}): to ${page.task}`),
    ].join('\n'),
  )
  sections.push(
    `## API reference\n\n- [Entries](${base}reference/index.md): to look up a function, a class or a type`,
  )
  const summary = `> ${description}.\n\nThe [README](${base}README.md) has an example and the guarantees.`
  writeFileSync(join(folder, 'llms.txt'), [`# ${name}`, summary, ...sections].join('\n\n') + '\n')

  const pages = groups.flatMap((group) => group.pages.map(({ path }) => path))
  for (const path of ['README.md', ...pages, ...LINKED]) copy(path, join(folder, path))
  cpSync(join(root, 'site/reference'), join(folder, 'reference'), {
    recursive: true,
    filter: (path) => !path.endsWith('.json'),
  })
  copy('LICENSE', join(folder, 'LICENSE.txt'))
}

function copy(path, to) {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(join(root, path), to)
}
