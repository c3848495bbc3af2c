import { itKeepsWhatWasKept, openInMemory } from './temporary-property.js'

itKeepsWhatWasKept(openInMemory, 300)
