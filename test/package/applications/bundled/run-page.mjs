// Runs the bundle in the argument against the handler of a server, and prints what the page found.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'

const { handler } = createS3Server({
  storage: memoryStorage(),
  bucket: 'files',
  plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:ann' })],
})
const { Request } = globalThis
globalThis.fetchOfApplication = (input, init) => handler(new Request(input, init))
// Bundles expect the globals of a page.
Object.assign(globalThis, { self: globalThis, window: globalThis })
await import(pathToFileURL(resolve(process.argv[2])))
console.log(JSON.stringify(await globalThis.page))
