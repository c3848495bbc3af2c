// The navigation of the site, read from the table of pages in README.md. A row without a page names the group of those below it.
import { readFileSync } from 'node:fs'

/** @typedef {{ title: string, path: string, task: string }} Page `path` is that of the Markdown file. */
/** @typedef {{ title: string, pages: Page[] }} Group */

/**
 * Returns the groups of the table below the heading "Documentation".
 * @returns {Group[]}
 */
export function readNavigation(readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')) {
  const [, section = ''] = readme.split(/^## Documentation$/m)
  const [table] = section.split(/^## /m)
  const rows = [...table.matchAll(/^\| +(.*?) *\|(.*)\|$/gm)]
    .slice(1)
    .filter(([, task]) => !/^-+$/.test(task))
  /** @type {Group[]} */
  const groups = []
  for (const [, task, links] of rows) {
    const title = /^\*\*(.+)\*\*$/.exec(task)?.[1]
    if (title) groups.push({ title, pages: [] })
    else if (groups.length === 0) throw new Error(`README.md: the row "${task}" has no group above it.`)
    else groups.at(-1).pages.push(...pagesIn(links, task))
  }
  if (groups.length === 0) throw new Error('README.md has no table of pages below "## Documentation".')
  return groups
}

function pagesIn(links, task) {
  return [...links.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)].map(([, title, path]) => ({
    title: title[0].toUpperCase() + title.slice(1),
    path,
    task,
  }))
}
