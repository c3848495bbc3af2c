import { longChecks } from './checks/long-checks.js'
import { describeSnippets } from './describe-snippets.js'

describeSnippets(longChecks)
