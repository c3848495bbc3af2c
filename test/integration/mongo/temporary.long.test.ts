import { itKeepsTemporaryObjects } from '../races/server-properties.js'
import { describeMongoStores } from './databases.js'

describeMongoStores('processes with mongoAdapter', (stores) => itKeepsTemporaryObjects(stores, 10))
