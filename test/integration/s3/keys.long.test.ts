import { describeKeys } from './described-keys.js'

describeKeys(1, 50)
