import { itChecksUploads } from '../races/server-properties.js'
import { describeMongoStores } from './databases.js'

describeMongoStores('checked uploads with mongoAdapter', (stores) => itChecksUploads(stores, 50))
