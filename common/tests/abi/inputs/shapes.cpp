// One type for each thing the debug information of a class can say; test_dwarf.py holds what the
// Itanium C++ ABI makes of it.
namespace shapes {
struct Plain {
  char c;
  double d;
  int *p;
  const char *const text;
  static int notStored;
};

struct Bits {
  unsigned a : 3;
  unsigned b : 7;
  long c : 40;
  bool d : 1;
};

struct alignas(32) Aligned {
  int x;
};

union Either {
  int i;
  double d;
  char bytes[12];
};

struct Base {
  virtual ~Base();
  virtual int first();
  virtual int second(int) const;
  void notVirtual();
  long stored;
};

struct Other {
  virtual void third();
  int other;
};

struct Derived : Base, Other {
  int second(int) const override;
  virtual void fourth();
  char tail;
};

struct Left : virtual Base {
  int left;
};

enum class Small : signed char { Minus = -1, Zero, One };
enum Plural { Few = 3, Many = 1000000 };

template <typename T, int N, bool Flag>
struct Box {
  T value[N];
  enum { Count = N, IsFlag = Flag };
  struct Inner {
    T *back;
  };
  Inner inner;
};

struct Mixed {
  struct {
    int x, y;
  };
  union {
    float f;
    unsigned u;
  } number;
  int (*callback)(const Plain &, char);
  int Plain::*memberPointer;
  Plain &reference;
  Small small;
  volatile int matrix[2][3];
};

typedef struct {
  int a;
} OnlyTypedef;

inline namespace v2 {
struct InInline {
  int i;
};
} // namespace v2
} // namespace shapes

namespace {
struct Hidden {
  int h;
};
} // namespace

int shapes::Base::first() { return 0; }
shapes::Base::~Base() {}
int shapes::Base::second(int) const { return 1; }
void shapes::Other::third() {}
int shapes::Derived::second(int) const { return 2; }
void shapes::Derived::fourth() {}

extern "C" int use(shapes::Plain *plain, shapes::Bits *bits, shapes::Aligned *aligned,
                   shapes::Either *either, shapes::Left *left, shapes::Plural plural,
                   shapes::Box<long, 4, true> *box,
                   shapes::Box<shapes::Box<char, 1, false>, 2, true> *nested, shapes::Mixed *mixed,
                   shapes::OnlyTypedef *onlyTypedef, shapes::InInline *inInline) {
  shapes::Derived derived;
  Hidden hidden{1};
  static shapes::Left bottom;
  return plain->c + bits->a + aligned->x + either->i + left->left + bottom.left + plural +
         box->value[0] + nested->value[0].value[0] + mixed->x + onlyTypedef->a + inInline->i +
         derived.tail + hidden.h + shapes::Box<long, 4, true>::Count;
}
