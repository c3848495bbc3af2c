import { describeKeys } from './described-keys.js'

describeKeys(4, 5)
