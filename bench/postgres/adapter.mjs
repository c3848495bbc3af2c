import { importSource } from './own-source.mjs'

// Once the adapter is a public entry: export { postgresAdapter } from '@svc/db/postgres'
export const { postgresAdapter } = await importSource('src/adapters/postgres/index.ts')
