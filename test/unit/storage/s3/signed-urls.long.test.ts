import { atOneTime, describeUrlsForKeys } from './urls-for-keys.js'

atOneTime()
describeUrlsForKeys(() => true)
