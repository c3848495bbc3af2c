import { lostResponseTests } from './lost-responses.js'

lostResponseTests(7)
