export { diskStorage, type DiskStorageOptions } from './disk-storage.js'
