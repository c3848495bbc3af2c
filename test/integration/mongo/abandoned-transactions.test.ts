import { abandonedTransactionTestsOnSet } from './abandoned-transactions.js'

abandonedTransactionTestsOnSet(7)
