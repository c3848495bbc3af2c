// Writes the API reference from the doc comments of the public entries: site/reference, a page for each entry, function, class and
// interface, and sidebars.json with the navigation of each entry. Usage: node site/reference.mjs
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = fileURLToPath(new URL('reference', import.meta.url))
// The same list as build/entries.ts, which tests compare.
const { compilerOptions } = JSON.parse(readFileSync(`${root}tsconfig.json`, 'utf8'))
const nameOf = new Map(
  Object.entries(compilerOptions.paths).map(([name, [path]]) => [path.replace('./', ''), name]),
)

rmSync(output, { recursive: true, force: true })
const application = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: [...nameOf.keys()].map((path) => root + path),
  tsconfig: `${root}tsconfig.json`,
  basePath: root,
  out: output,
  name: 'API reference',
  readme: 'none',
  // `npm run typecheck` has checked the types.
  skipErrorChecking: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  disableSources: true,
  logLevel: 'Warn',
  validation: { invalidLink: true, notExported: false, notDocumented: false },
  treatWarningsAsErrors: true,
  entryFileName: 'index',
  excludeScopesInPaths: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  hideGroupHeadings: false,
  useCodeBlocks: true,
  sanitizeComments: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  indexFormat: 'table',
  // Type aliases and constants are short, so they are on the page of their entry.
  membersWithOwnFile: ['Function', 'Class', 'Interface'],
  tableColumnSettings: { hideModifiers: true },
  groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', 'References'],
})

const project = await application.convert()
if (!project) process.exit(1)
for (const entry of project.children ?? []) {
  const path = project.getSymbolIdFromReflection(entry)?.packagePath ?? ''
  entry.name = nameOf.get(path) ?? fail(`No public entry has the source "${path}" of ${entry.name}.`)
}
application.validate(project)
await application.generateOutputs(project)
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exit(1)
const entries = [...nameOf.values()].map((name) => ({ text: name, link: `/reference/${folderOf(name)}/` }))
const sidebars = entries.map((entry) => [
  entry.link,
  [...pagesOf(entry), { text: 'API reference', link: '/reference/', items: entries }],
])
writeFileSync(
  `${output}/sidebars.json`,
  JSON.stringify({
    '/reference/': [{ text: 'API reference', link: '/reference/', items: entries }],
    ...Object.fromEntries(sidebars),
  }),
)

/** Returns what the sidebar shows of an entry: its functions and classes, then its interfaces. */
function pagesOf({ text, link }) {
  const itemsOf = (...kinds) =>
    kinds.flatMap((kind) =>
      pagesIn(`${output}/${folderOf(text)}/${kind}`).map((page) => ({
        text: page,
        link: `${link}${kind}/${page}`,
      })),
    )
  const interfaces = itemsOf('interfaces')
  return [
    { text, link, items: itemsOf('functions', 'classes') },
    ...(interfaces.length > 0 ? [{ text: 'Interfaces', items: interfaces }] : []),
  ]
}

function folderOf(name) {
  return name.replace('@svc/', '')
}

function pagesIn(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace(/\.md$/, ''))
}

function fail(message) {
  throw new Error(message)
}
