export { postgresAdapter } from '@svc/db/postgres'
