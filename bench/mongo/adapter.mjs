export { mongoAdapter } from '@svc/db/mongo'
