import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const MIB = 1024 ** 2

/** Measures the heap without garbage after every so many items of a job. */
export function heapSamples(every: number) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const samples: number[] = []
  return {
    onProgress: ({ done }: { readonly done: number }): void => {
      if (done % every !== 0) return
      collect()
      samples.push(process.memoryUsage().heapUsed / MIB)
    },
    /** The number of samples, and by how many MiB the largest one exceeds the first. */
    get result() {
      return { count: samples.length, growth: Math.max(...samples) - samples[0]! }
    },
  }
}
