import { expect, it } from 'vitest'
import { describeInEngines } from './engines/engines.js'
import { openEngineSession } from './engines/session.js'

/** A filename, and the name under which browsers save it: what a path or another system's file system can't have is replaced. */
const NAMES = [
  ['naïve – “quoted”.txt', 'naïve – “quoted”.txt'],
  ['日本語 😀.txt', '日本語 😀.txt'],
  [`it's; filename=other.txt`, `it's; filename=other.txt`],
  ['a/b\\c.txt', 'a_b_c.txt'],
  ['the "best" one.txt', 'the _best_ one.txt'],
  ['../../up.txt', '_.._up.txt'],
  // Firefox decodes once more what looks encoded.
  ['100%41.txt', { Chromium: '100%41.txt', Firefox: '100A.txt' }],
] as const

await describeInEngines('a download', (engine, name) => {
  // The driver of WebKitGTK saves no files.
  it.skipIf(name === 'WebKit')('is saved under its name, whatever characters it has', async (test) => {
    const { tab } = await openEngineSession(engine(), test)
    for (const [filename, saved] of NAMES) {
      await tab.evaluate(async (filename: string) => {
        const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
        const { key } = await api.upload(new File(['x'], filename))
        const { url } = await api.download({ key })
        document.body.innerHTML = '<a>Download</a>'
        document.querySelector('a')!.href = url
      }, filename)
      const expected = typeof saved === 'string' || name === 'WebKit' ? saved : saved[name]
      expect(await tab.download!(() => document.querySelector('a')!.click())).toBe(expected)
    }
  })
})
