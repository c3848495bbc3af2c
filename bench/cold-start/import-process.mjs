// Imports modules in a fresh process and sends what it cost since the process started: node import-process.mjs MODULE...
for (const specifier of process.argv.slice(2)) await import(specifier)
const { user, system } = process.cpuUsage()
process.send?.({ processor: (user + system) / 1000, waiting: performance.now() })
