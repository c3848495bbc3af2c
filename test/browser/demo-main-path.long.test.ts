import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ExampleProcess } from '../servers/example-process.js'
import type { PrivateFolder } from '../servers/private-server.js'
import { until } from '../until.js'
import { demoFolder } from './demo-folders.js'
import { startDemo } from './demo-server.js'
import type { Tab } from './engines/engine.js'
import { describeInEngines } from './engines/engines.js'

await describeInEngines('the demo', (engine, name) => {
  let folder: PrivateFolder
  let server: ExampleProcess
  beforeAll(async () => {
    folder = await demoFolder()
    server = await startDemo({ dataFolder: folder.path })
  })
  afterAll(async () => {
    const stopped = await server.stop()
    await folder.remove('SIGKILL')
    expect(stopped).toEqual({ code: 0, complaints: '' })
  })

  // The driver of WebKitGTK saves no files.
  const path = name === 'WebKit' ? 'lists and deletes' : 'lists, downloads and deletes'
  it(`uploads, ${path} files`, async ({ onTestFinished }) => {
    const files = ['notes.txt', 'film.bin'].map((name) => join(folder.path, name))
    writeFileSync(files[0]!, 'x'.repeat(1000))
    // In parts.
    writeFileSync(files[1]!, Buffer.alloc(17_000_000, 7))
    const profile = await engine().openProfile()
    onTestFinished(() => profile.close())
    const tab = await profile.openTab(server.url)
    await until(() => has(tab, '#usage-files', '0 of 40 files'))

    await tab.choose('#chosen', files)
    await until(async () => (await names(tab)).length === 2)
    expect((await names(tab)).sort()).toEqual(['film.bin', 'notes.txt'])
    await until(() => has(tab, '#usage-files', '2 of 40 files'))

    const save = () => document.querySelector<HTMLElement>('[aria-label="Download notes.txt"]')!.click()
    if (tab.download) expect(await tab.download(save)).toBe('notes.txt')

    await tab.evaluate(() => document.querySelector<HTMLElement>('[aria-label="Delete film.bin"]')!.click())
    await until(() => has(tab, '#usage-files', '1 of 40 files'))
    await tab.evaluate(() => document.querySelector<HTMLElement>('.toast [data-part=close]')!.click())
    await until(async () => {
      await tab.reload()
      await until(() => has(tab, '#usage-files', 'of 40 files'))
      return has(tab, '#usage-files', '1 of 40 files')
    })
    expect(await names(tab)).toEqual(['notes.txt'])
  })
})

const names = (tab: Tab) =>
  tab.evaluate(() =>
    Array.from(document.querySelectorAll('#file-list [data-part=name]'), ({ textContent }) => textContent),
  )

const has = (tab: Tab, selector: string, text: string) =>
  tab.evaluate(
    ([selector, text]) => !!document.querySelector(selector!)?.textContent?.includes(text!),
    [selector, text],
  )
