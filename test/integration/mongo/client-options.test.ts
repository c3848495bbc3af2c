import { clientOptionTests } from './client-options.js'

clientOptionTests(7)
