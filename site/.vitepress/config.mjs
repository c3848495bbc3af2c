import { existsSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { brokenLinks } from '../broken-links.mjs'
import { readNavigation } from '../navigation.mjs'
import { repositoryUrl } from '../../.ci/repository.mjs'
import { writeTextFiles } from '../text-files.mjs'

// VitePress takes other endings for pages.
process.env.VITE_EXTRA_EXTENSIONS = 'sql'

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
const { description, version } = read('../../package.json')
const groups = readNavigation()
const repository = repositoryUrl()
/** The path at which the site is served, such as `/` or `/svc-db/`. */
const base = `/${process.env.SITE_BASE ?? ''}/`.replace(/\/+/g, '/')

export default defineConfig({
  title: '@svc/db',
  description,
  lang: 'en',
  base,
  // The pages are the files of the repository, at their paths in it.
  srcDir: '..',
  srcExclude: ['{bench,build,coverage,examples,src,test}/**', '*/node_modules/**'],
  outDir: './dist',
  cacheDir: '../node_modules/.cache/vitepress',
  rewrites: { 'README.md': 'index.md', 'site/reference/:page(.*)': 'reference/:page' },
  // The navigation and the list of files would be a part of every page otherwise.
  metaChunk: true,
  head: [['link', { rel: 'alternate', type: 'text/plain', href: `${base}llms.txt`, title: 'For programs' }]],
  // esbuild no longer transforms for the older browsers that are Vite's default here.
  // The index of the search is a large file, which is only loaded for a search.
  vite: {
    build: { target: 'es2022', chunkSizeWarningLimit: 4000 },
    optimizeDeps: { esbuildOptions: { target: 'es2022' } },
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The highlighter takes them for other languages.
    languageAlias: { mjs: 'js', cjs: 'js' },
    anchor: { slugify: headingAnchor },
    config(markdown) {
      // The license has no ending, so it would be taken for a page.
      markdown.core.ruler.push('license', ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? []))
          if (token.attrGet('href') === 'LICENSE') token.attrSet('href', 'LICENSE.txt')
      })
    },
  },
  themeConfig: {
    nav: [
      { text: 'Docs', link: '/docs/getting-started' },
      { text: 'API reference', link: '/reference/' },
      { text: version, link: '/CHANGELOG' },
    ],
    sidebar: { ...referenceSidebars(), '/': taskSidebar() },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // Tasks first.
        miniSearch: { searchOptions: { boostDocument: (page) => (page.includes('/reference/') ? 0.5 : 1) } },
      },
    },
    externalLinkIcon: true,
    ...(repository && {
      editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
      socialLinks: [{ icon: 'github', link: repository }],
    }),
  },
  transformPageData({ filePath }) {
    // The reference is made from the source.
    if (filePath.startsWith('site/reference/')) return { frontmatter: { editLink: false } }
    return undefined
  },
  buildEnd({ outDir }) {
    writeTextFiles(outDir, base, groups)
    const broken = brokenLinks(outDir, base)
    if (broken.length > 0) throw new Error(`Broken links:\n${broken.join('\n')}`)
  },
})

/** The anchor of a heading as GitHub makes it, so a link works there and here. */
function headingAnchor(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function taskSidebar() {
  return groups.map(({ title, pages: linked }) => ({
    text: title,
    items: linked.map((page) => ({ text: page.title, link: `/${page.path.replace(/\.md$/, '')}` })),
  }))
}

function referenceSidebars() {
  const file = '../reference/sidebars.json'
  return existsSync(new URL(file, import.meta.url)) ? read(file) : {}
}
