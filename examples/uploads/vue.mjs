// A queue of uploads in Vue.
import { createS3Client } from '@svc/db/client'
import { createUploadQueue } from '@svc/db/uploads'
import { createApp, h, onScopeDispose, shallowRef } from 'vue'

const { api } = createS3Client({ plugins: [] })
const queue = createUploadQueue(api)

/** Returns the snapshot of a queue as a ref, which changes with it. */
function useUploads() {
  const snapshot = shallowRef(queue.getSnapshot())
  onScopeDispose(queue.subscribe(() => (snapshot.value = queue.getSnapshot())))
  return snapshot
}

const Uploads = {
  setup() {
    const uploads = useUploads()
    return () => {
      const { items, loaded, size } = uploads.value
      return h('div', [
        h('label', ['Choose files ', h('input', { type: 'file', multiple: true, onChange: choose })]),
        h('button', { onClick: () => queue.pause() }, 'Pause all'),
        h('button', { onClick: () => queue.resume() }, 'Resume all'),
        h('p', { role: 'status' }, `${loaded} of ${size} bytes`),
        h(
          'ul',
          items.map(({ id, filename, state, error }) =>
            h('li', { key: id }, `${filename}: ${error?.message ?? state}`),
          ),
        ),
      ])
    }
  },
}

const choose = ({ target }) => queue.add(target.files)

createApp(Uploads).mount('#page')
