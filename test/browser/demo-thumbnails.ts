import { beforeEach, describe, expect, it } from 'vitest'
import type { DemoPage } from './demo-page.js'
import type { DemoSuite } from './demo-suite.js'
import { picture } from './pictures.js'

const PHOTO = { name: 'photo.png', mimeType: 'image/png', buffer: picture(1200, 600, [200, 80, 60]) }
const BROKEN = { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('no picture') }

export function thumbnailTests(suite: DemoSuite): void {
  describe('thumbnails', () => {
    let demo: DemoPage
    beforeEach(() => {
      demo = suite.demo
    })

    it('appear instead of the pictures, are in no list and no usage, and are removed with them', async () => {
      await upload(PHOTO)
      const path = await thumbnailPath()
      await expect.poll(() => responseTo(path)).toEqual([200, 'image/webp'])

      await demo.page.reload()
      expect(await shownWidth(PHOTO.name)).toBe(480)
      await demo.shows([PHOTO.name])
      await demo.usage('1 of 40 files')
      expect(await json('/api/s3/db/usage')).toMatchObject({
        usage: { files: 1, bytes: PHOTO.buffer.length, reservedFiles: 0, reservedBytes: 0 },
      })
      await demo.delete(PHOTO.name)
      await expect.poll(async () => (await responseTo(path))[0]).toBe(404)
    })

    it('leave the card to the picture itself until they exist', async () => {
      await demo.page.route(/\.thumbnail/, (route) => route.fulfill({ status: 404 }))
      await upload(PHOTO)
      expect(await shownWidth(PHOTO.name)).toBe(1200)
    })

    it('are made of later pictures after a file that is no picture', async () => {
      await upload(BROKEN)
      const pathOfBroken = await thumbnailPath()
      await upload(PHOTO)
      const path = await thumbnailPath()
      await expect.poll(() => responseTo(path)).toEqual([200, 'image/webp'])

      await demo.page.reload()
      expect(await shownWidth(PHOTO.name)).toBe(480)
      await demo.card(BROKEN.name).getByText('PNG', { exact: true }).waitFor()
      expect((await responseTo(pathOfBroken))[0]).toBe(404)
    })

    it('open for those who may open the picture, and for no one else', async () => {
      const { page } = demo
      await upload(PHOTO)
      const path = await thumbnailPath()
      await expect.poll(() => responseTo(path)).toEqual([200, 'image/webp'])
      await demo.switchTo('Grace')
      await page.getByText('Nothing here yet').waitFor()
      expect((await responseTo(path))[0]).toBe(404)

      await demo.switchTo('Ada')
      const share = page.getByRole('button', { name: `Share ${PHOTO.name} by its link` })
      await share.click()
      await share.and(page.locator('[aria-pressed=true]')).waitFor()
      await demo.switchTo('Grace')
      await page.getByText('Nothing here yet').waitFor()
      expect(await responseTo(path)).toEqual([200, 'image/webp'])

      await demo.switchTo('Ada')
      await demo.shows([PHOTO.name])
    })

    async function upload(file: typeof PHOTO): Promise<void> {
      await demo.choose(file)
      await demo.card(file.name).waitFor()
      await demo.uploaded()
    }

    /** The path of the thumbnail of the newest file. */
    async function thumbnailPath(): Promise<string> {
      const { objects } = (await json('/api/s3/db/objects')) as { objects: { key: string }[] }
      return `/api/s3/file?key=${encodeURIComponent(`${objects[0]!.key}.thumbnail`)}&disposition=inline`
    }

    /** Width in pixels of the picture in a card. */
    async function shownWidth(name: string): Promise<number> {
      const image = demo.card(name).locator('img')
      await image.waitFor()
      return image.evaluate((element: HTMLImageElement) => element.naturalWidth)
    }

    function json(path: string): Promise<unknown> {
      return demo.page.evaluate(async (from) => (await fetch(from)).json() as Promise<unknown>, path)
    }

    /** The status and the media type of what the signed-in user gets. */
    function responseTo(path: string): Promise<[number, string | null]> {
      return demo.page.evaluate(async (from) => {
        const { status, headers } = await fetch(from)
        return [status, headers.get('content-type')] as [number, string | null]
      }, path)
    }
  })
}
