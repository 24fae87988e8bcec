// The journal of ../ci/journal.c in C++: a record is durable before the count that includes it.
//
//     journal POOL N        appends N records
//     journal POOL check    its recovery: whether all records that count are there
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t line = 64;

// Eight bytes that a power failure leaves whole, and that the compiler stores where the program says.
class word {
public:
    operator std::uint64_t() const { return value.load(std::memory_order_relaxed); }
    word &operator=(std::uint64_t next) { value.store(next, std::memory_order_relaxed); return *this; }
private:
    std::atomic<std::uint64_t> value{0};
};

// Writes the line of an object back, and waits for it.
template <typename T> void persist(const T &object)
{
    static_assert(sizeof(T) <= line && alignof(T) == line, "the object is one line");
    _mm_clflush(&object);
    _mm_sfence();
}

struct alignas(line) record {
    word number, check;

    void fill(std::uint64_t at) { number = at * 7; check = ~(at * 7); }
    bool intact(std::uint64_t at) const { return number == at * 7 && check == ~(at * 7); }
};

struct alignas(line) counter {
    word value;
};

struct journal {
    counter count;
    std::array<record, 63> records;

    void append()
    {
        const std::uint64_t at = count.value;
        records[at].fill(at);
        persist(records[at]); // before it is counted
        count.value = at + 1;
        persist(count);
    }

    bool intact() const
    {
        if (count.value > records.size()) return false;
        for (std::uint64_t at = 0; at < count.value; at++)
            if (!records[at].intact(at)) return false;
        return true;
    }
};

} // namespace

int main(int argc, char **argv)
{
    const int file = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof(journal)) != 0) return 2;
    void *mapped = mmap(nullptr, sizeof(journal), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return 2;
    auto &pool = *static_cast<journal *>(mapped); // a new file is zero: no records
    if (std::strcmp(argv[2], "check") == 0) return pool.intact() ? 0 : 1;
    for (int left = std::atoi(argv[2]); left > 0 && pool.count.value < pool.records.size(); left--) pool.append();
    return 0;
}
